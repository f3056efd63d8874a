// Code generated for a test. DO NOT EDIT.

package handles

import "github.com/flagstaff-go/flagstaff"

// Handles of which nobody can remove one.
var (
	MadeButton        = flagstaff.NewVariant("button", "false", "control", "green", "blue")
	MadeButtonPayload = flagstaff.NewPayload("button", struct{ Color string }{})
	MadeOld           = flagstaff.NewBool("page-size-2", false) // want `there is no flag "page-size-2"` `no code uses MadeOld, the handle of flag "page-size-2"`
	MadeOldPayload    = flagstaff.NewPayload("page-size-2", 1)  // want `there is no flag "page-size-2"`
)
