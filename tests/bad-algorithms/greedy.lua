collective = "allreduce"
function plan(p)
  local t = {}
  while true do t[#t + 1] = { #t } end
end
