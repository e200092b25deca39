-- Allgather by the NVSwitch of one node: each GPU stores its block once, and the switch hands it to
-- all. A GPU sends S/n and receives S, its own block too; a ring sends and receives (n-1)/n S. So
-- nothing is gained, and what the switch's multicast reaches of the link's rate is lost.
collective = "allgather"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  for i = 0, n - 1 do
    p:switch_reduce { chunk = i, group = i, lane = i % 16, where = eq(r, i) } -- one alone: no sum
    p:switch_multicast { chunk = i, group = i, lane = i % 16 }
  end
end
