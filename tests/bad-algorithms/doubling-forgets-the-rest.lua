-- Right for powers of two. With other numbers the ranks beyond the largest power are left out.
collective = "allreduce"
function plan(p)
  local r = p.rank
  local m = 1 << log2(p.ranks)
  p:loop(log2(p.ranks), function(k)
    p:send { to = r ~ (1 << k), where = lt(r, m), reduce = true }
  end)
end
