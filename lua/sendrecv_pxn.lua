-- Sendrecv to the next rank on rails, as NCCL's PXN: the last GPU of a node does not send across the
-- rails to the first GPU of the next node, but hands its message to the first GPU of its own node,
-- which sends it on over its NIC. That GPU's own message has left in the same step.
collective = "sendrecv"

function plan(p)
  local node = p:inside()
  if p.ranks < 2 then error("sendrecv needs at least 2 ranks") end
  local last = eq(node.place, node.size - 1)
  if p.nodes == 1 or node.size == 1 then
    p:send { to = (p.rank + 1) % p.ranks, write = "result" }
  else
    p:step(function()
      p:send { to = p.rank + 1, where = no(last), write = "result" }
      p:send { to = node:at(0), where = last }
    end)
    p:send { to = p:across():next(), where = eq(node.place, 0), write = "result" }
  end
end
