-- The first half of a ring allreduce: every chunk is added up, but rank r ends with chunk r + 1.
collective = "reduce_scatter"
function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, chunk = (r - k) % n, reduce = true }
  end)
end
