-- Alltoall as NCCL's point-to-point channels do it: as alltoall.lua, but with up to 16 peers at a
-- time, so that peers inside the node and outside are served side by side. A GPU of another node is
-- reached from the sender's own NIC: where that NIC and the receiver's are not on one rail, the
-- bytes cross the spine.
collective = "alltoall"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  p:step(function()
    for i = 1, n - 1 do
      local peer = (r + i) % n
      p:send { to = peer, chunk = peer, into = r, write = "result", lane = i % 16 }
    end
  end)
end
