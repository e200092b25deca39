-- Reduce along a chain: the far end sends its message to the rank before, which adds its own and
-- passes the sum on, down to the root. Slices flow through. Each rank but the root sends the message
-- once.
collective = "reduce"

function plan(p)
  local n, r = p.ranks, p.rank
  local place = (r - p.root) % n -- of the rank along the chain; the root has 0
  p:loop(n - 1, function(k)
    p:send { to = (r - 1) % n, where = eq(place, n - 1 - k), reduce = true }
  end)
end
