-- Allreduce in the NVSwitch of one node (NVLS). The message has a chunk for each GPU, and each chunk
-- a multicast group. The owner of a chunk reads it from the switch, which adds up what all GPUs
-- have, and stores the sum to the switch, which hands it to all. Each GPU sends and receives
-- S + S/n; a ring takes 2(n-1)/n S. All owners work at once, in lanes of their own.
collective = "allreduce"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  for i = 0, n - 1 do
    local read, store = i % 8, 8 + i % 8
    p:switch_reduce { chunk = i, group = i, lane = read } -- every GPU serves the owner's reads
    p:switch_multicast { chunk = i, group = i, lane = read, where = eq(r, i) }
    p:switch_reduce { chunk = i, group = i, lane = store, where = eq(r, i) } -- one alone: no sum
    p:switch_multicast { chunk = i, group = i, lane = store }
  end
end
