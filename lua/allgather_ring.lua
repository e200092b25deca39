-- Allgather on a ring. In step k every rank passes on the block it received last, beginning with its
-- own, so that after n-1 steps all blocks have been everywhere. Each rank sends (n-1)/n of the
-- gathered message, a block a step.
collective = "allgather"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, chunk = (r - k) % n }
  end)
end
