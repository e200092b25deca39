-- Sendrecv: every rank sends its message to the next rank and receives one from the rank before.
collective = "sendrecv"

function plan(p)
  if p.ranks < 2 then
    error("sendrecv needs at least 2 ranks")
  end
  p:send { to = (p.rank + 1) % p.ranks, write = "result" }
end
