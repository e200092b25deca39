-- Alltoall over nodes of g GPUs on rails, as NCCL's PXN: what is for GPU j of another node goes first
-- to GPU j of the own node, over NVLink, which then sends what all its node has for that GPU in one
-- message, over its own NIC. So nothing changes rails, and a GPU sends N-1 messages of g blocks by
-- its NIC instead of g(N-1) of one. Two GPUs i and j of a node exchange blocks in place: block j of a
-- node for block i.
collective = "alltoall"

function plan(p)
  local inside, across = p:inside(), p:across()
  local g, nodes = inside.size, across.size
  local i, a = inside.place, across.place
  p:split(p.ranks)
  p:step(function() -- inside the node: to each GPU a message with a block for each node
    for d = 1, g - 1 do
      local j = (i + d) % g
      p:send { to = inside:at(j), chunk = a * g + j, into = p.rank, write = "result" }
      for s = 1, nodes - 1 do
        local b = (a + s) % nodes
        p:send { to = inside:at(j), chunk = b * g + j, into = b * g + i, packed = true }
      end
    end
  end)
  for s = 1, nodes - 1 do -- between nodes, on the rail
    p:send { to = across:next(s), chunk = (a + s) % nodes * g, count = g, into = a * g,
             write = "result", lane = 1 }
  end
end
