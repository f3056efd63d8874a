// Package handles declares flags as variables, some of them wrongly.
package handles

import "github.com/flagstaff-go/flagstaff"

// ButtonVariant is a value of Button.
type ButtonVariant string

// The values of Button.
const (
	ButtonOff     ButtonVariant = "false"
	ButtonControl ButtonVariant = "control"
	ButtonGreen   ButtonVariant = "green"
	ButtonBlue    ButtonVariant = "blue"
)

// Handles that fit their flags.
var (
	NewCheckout = flagstaff.NewBool("new-checkout", false)
	Button      = flagstaff.NewVariant("button", ButtonOff, ButtonControl, ButtonGreen, ButtonBlue)
	PageSize    = flagstaff.NewValue[int64]("page-size", 10)
	Everybody   = flagstaff.NewBool("everybody", false)
	Switch      = flagstaff.NewVariant("new-checkout", "false", "true")
	Limit       = flagstaff.NewValue("limit", 3.5)
	Color       = flagstaff.NewPayload("button", struct{ Color string }{})
)

// Handles that do not.
var (
	Chekout   = flagstaff.NewBool("new-chekout", false)                    // want `there is no flag "new-chekout"; did you mean "new-checkout"\? \[unknown-key\]`
	Gone      = flagstaff.NewBool("gone", false)                           // want `there is no flag "gone" \[unknown-key\]`
	WrongBool = flagstaff.NewBool("button", false)                         // want `flag "button" has the variants "control", "green", "blue": the handle always gets the fallback; declare it by NewVariant \[wrong-type\]`
	Fewer     = flagstaff.NewVariant("button", "false", "control", "gren") // want `flag "button" has no variant "gren"; did you mean "green"\? \[unknown-variant\]` `flag "button" has the variants "green", "blue", which the handle does not declare: in its place it has the fallback \[missing-variant\]`
	NoVariant = flagstaff.NewVariant("new-checkout", "control", "green")   // want `flag "new-checkout" has no variants: declare it by NewBool \[wrong-type\]`
	NoNumber  = flagstaff.NewValue[int64]("button", 1)                     // want `flag "button" has the variant "control", which is not an integer \[wrong-type\]`
	NoText    = flagstaff.NewValue("limit", "none")                        // want `flag "limit" has the payload "5", which is not a text \[wrong-type\]`
	NoPayload = flagstaff.NewPayload("new-checkout", map[string]string{})  // want `flag "new-checkout" has no payload \[wrong-type\]`
	Unused    = flagstaff.NewBool("new-checkout", false)                   // want `no code uses Unused, the handle of flag "new-checkout" \[unused-handle\]`
)
