-- Two ranks write the same chunk of rank 2 in one step.
collective = "allreduce"
function plan(p)
  p:step(function()
    p:send { from = 0, to = 2 }
    p:send { from = 1, to = 2 }
  end)
end
