-- Every rank first waits for its neighbour's message and sends its own only then: nobody begins.
collective = "sendrecv"
function plan(p)
  local n, r = p.ranks, p.rank
  p:recv { from = (r - 1) % n }
  p:send { to = (r + 1) % n, write = "result" }
end
