-- Allreduce on a 2-D torus of w columns and h rows, as square as the number of ranks allows. On a ring
-- in each row the ranks add up, after which each holds the sum over its row of one w-th of the message;
-- rings in the columns do so with that part, and the results go back the same way. A rank sends as
-- much as in one ring over all, 2(n-1)/n of the message, but in 2(w-1) + 2(h-1) steps.
collective = "allreduce"

function plan(p)
  local w = math.floor(math.sqrt(p.ranks))
  while p.ranks % w ~= 0 do w = w - 1 end
  local row, column = p:groups(w), p:groups(p.ranks // w, w)
  local h = column.size
  p:split(w * h) -- part i, of h chunks, is summed up at place i of each row
  p:loop(w - 1, function(k)
    p:send { to = row:next(), chunk = (row.place - 1 - k) % w * h, count = h, reduce = true }
  end)
  p:loop(h - 1, function(k)
    p:send { to = column:next(), chunk = row.place * h + (column.place - k) % h, reduce = true }
  end)
  p:loop(h - 1, function(k)
    p:send { to = column:next(), chunk = row.place * h + (column.place + 1 - k) % h }
  end)
  p:loop(w - 1, function(k)
    p:send { to = row:next(), chunk = (row.place - k) % w * h, count = h }
  end)
end
