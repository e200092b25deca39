-- The first loop is one turn short: the last contribution never arrives.
collective = "allreduce"
function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:loop(n - 2, function(k)
    p:send { to = (r + 1) % n, chunk = (r - k) % n, reduce = true }
  end)
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, chunk = (r + 1 - k) % n }
  end)
end
