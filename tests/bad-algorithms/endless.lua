collective = "allreduce"
function plan(p)
  while true do end
end
