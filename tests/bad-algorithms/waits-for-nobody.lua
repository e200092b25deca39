-- The root of a broadcast waits for an answer that nobody sends.
collective = "broadcast"
function plan(p)
  p:send { to = p.rank + 1, where = eq(p.rank, 0) }
  p:recv { from = 1, where = eq(p.rank, 0) }
  p:send { to = p.rank + 2, where = eq(p.rank, 0) }
end
