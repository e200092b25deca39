collective = "allreduce"
function plan(p)
  p:send { to = p.rank + 1, chunk = 7 }
end
