module github.com/flagstaff-go/flagstaff/server

go 1.26.0

require github.com/flagstaff-go/flagstaff v0.0.0

replace github.com/flagstaff-go/flagstaff => ..
