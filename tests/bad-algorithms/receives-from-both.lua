-- Rank 0 asks for a second message before it has answered the first, for which rank 1 waits.
collective = "allreduce"
function plan(p)
  p:send { from = 1, to = 0, reduce = true }
  p:recv { from = 1, where = eq(p.rank, 0) }
  p:recv { from = 1, where = eq(p.rank, 0) } -- the second message of rank 1
  p:send { from = 0, to = 1 }
  p:recv { from = 0, where = eq(p.rank, 1) }
  p:send { from = 1, to = 0 }
  p:send { from = 0, to = 2 }
end
