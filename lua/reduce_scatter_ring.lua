-- Reduce-scatter on a ring: chunk c starts at rank c+1, travels round the ring, collects what every
-- rank has, and ends after n-1 steps at rank c. Each rank sends (n-1)/n of its message.
collective = "reduce_scatter"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, chunk = (r - 1 - k) % n, reduce = true }
  end)
end
