-- Allreduce in the NVSwitch of one node (NVLS). The message has a chunk for each GPU, and each chunk
-- a multicast group. The owner of a chunk reads it from the switch, which adds up what all GPUs
-- have, and stores the sum to the switch, which hands it to all. Each GPU sends and receives
-- S + S/n; a ring takes 2(n-1)/n S.
collective = "allreduce"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:step(function() -- every GPU serves the reads of all owners
    for i = 0, n - 1 do p:switch_reduce { chunk = i, group = i } end
  end)
  p:step(function() -- the sums, to the owners
    for i = 0, n - 1 do p:switch_multicast { chunk = i, group = i, where = eq(r, i) } end
  end)
  p:step(function() -- the owners store them
    for i = 0, n - 1 do p:switch_reduce { chunk = i, group = i, where = eq(r, i), lane = 1 } end
  end)
  p:step(function() -- to all
    for i = 0, n - 1 do p:switch_multicast { chunk = i, group = i, lane = 1 } end
  end)
end
