-- A block cannot travel in the message that went to another rank.
collective = "alltoall"
function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  for d = 1, n - 1 do
    p:send { to = (r + d) % n, chunk = (r + d) % n, into = r, write = "result", packed = d > 1 }
  end
end
