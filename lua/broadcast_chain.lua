-- Broadcast along a chain: the root sends to the next rank, which passes it on, and so on round to
-- the rank before the root. Slices flow through, so that a long message takes hardly longer than
-- one hop, a short one n-1 hops. Each rank but the last sends the message once.
collective = "broadcast"

function plan(p)
  local n, r = p.ranks, p.rank
  local place = (r - p.root) % n -- of the rank along the chain
  p:loop(n - 1, function(k)
    p:send { to = (r + 1) % n, where = eq(place, k) }
  end)
end
