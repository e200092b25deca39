-- The allgather adds instead of overwriting.
collective = "allreduce"
function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, chunk = (r - k) % n, reduce = true }
  end)
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, chunk = (r + 1 - k) % n, reduce = true }
  end)
end
