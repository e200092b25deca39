collective = "allreduce"
function plan(p)
  local row = p:groups(3)
  p:send { to = row:next() }
end
