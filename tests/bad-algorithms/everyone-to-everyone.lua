-- Right, but every rank is sent n-1 whole messages at once, and can add them only one by one.
collective = "allreduce"
function plan(p)
  local n, r = p.ranks, p.rank
  p:step(function()
    for d = 1, n - 1 do p:send { to = (r + d) % n, reduce = true } end
  end)
end
