package shell

import (
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
)

// An Effect says what a change does.
type Effect struct {
	Known   bool   // who changes can be computed
	Asks    bool   // somebody changes, or may: the change is confirmed
	Unknown string // why it cannot
	Summary string
	Caveat  string // what is not counted
	Warned  []string
	Bar     charts.Bar
	Moves   []Move
	More    int // changes of persons that are not listed
	Persons []Move
	Others  []OtherFlag
	Changes []Change
	Cut     int // changes of the definition that are not listed
}

// A Move is from which value to which, for how many persons or for one.
type Move struct {
	Why                            string // where it is explained
	Person, From, To, Count, Share string
	Width                          string // percent
	Class                          string
}

// An OtherFlag is a flag that changes with another one.
type OtherFlag struct{ Key, Count string }
