-- The switch is asked for a sum before anyone has sent.
collective = "allreduce"
function plan(p)
  p:switch_multicast {}
  p:switch_reduce {}
end
