-- Alltoall, pairwise. Block d of a rank's message is for rank d, which keeps it in block r of its
-- result. In step i every rank sends to the rank i further on, so that nobody receives from two at
-- once. Each rank sends (n-1)/n of its message; its own block stays where it is.
collective = "alltoall"

function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  for i = 1, n - 1 do
    local peer = (r + i) % n
    p:send { to = peer, chunk = peer, into = r, write = "result" }
  end
end
