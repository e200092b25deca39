-- Nobody says where in the result a block belongs: it lands where it lay in the message.
collective = "alltoall"
function plan(p)
  local n, r = p.ranks, p.rank
  p:split(n)
  for i = 1, n - 1 do
    p:send { to = (r + i) % n, chunk = (r + i) % n, write = "result" }
  end
end
