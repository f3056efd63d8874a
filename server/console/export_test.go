package console

import "github.com/flagstaff-go/flagstaff/server/console/shell"

// Groups returns all screens, for tests of the whole console.
func Groups() []shell.Group { return append(groups(), shell.Screens()) }
