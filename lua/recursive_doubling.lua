-- Recursive doubling allreduce: in step k every rank exchanges everything it has with the rank at
-- distance 2^k. Few steps (log2 n), but each carries the whole message: good for small ones.
-- With n no power of two, the ranks beyond the largest power m first hand their message to a
-- partner below m, and get the result from it at the end.
collective = "allreduce"

function plan(p)
  local n, r = p.ranks, p.rank
  local m = 1 << log2(n)
  if n > m then
    p:send { to = r - m, where = ge(r, m), reduce = true }
  end
  p:loop(log2(n), function(k)
    p:send { to = r ~ (1 << k), where = lt(r, m), reduce = true }
  end)
  if n > m then
    p:send { to = r + m, where = lt(r, n - m) }
  end
end
