module github.com/flagstaff-go/flagstaff/examples

go 1.26.0

require (
	github.com/flagstaff-go/flagstaff v0.0.0
	github.com/flagstaff-go/flagstaff/server v0.0.0
)

replace (
	github.com/flagstaff-go/flagstaff => ..
	github.com/flagstaff-go/flagstaff/server => ../server
)
