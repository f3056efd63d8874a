package field_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

func Example() {
	project := struct{ Name string }{"Web"}
	patch := struct{ Name optional.Value[string] }{optional.Of("Shop")}
	describe := func() field.Table {
		return field.Table{field.Plain("name", &patch.Name, &project.Name, check.Name)}
	}
	before := describe()
	if err := before.Check(); err != nil {
		fmt.Println(err)
		return
	}
	before.Apply()
	for _, c := range field.Differences("Team", before, describe()) {
		fmt.Printf("%s %s %s: %s to %s\n", c.Type, c.Field, c.Action, c.Before, c.After)
	}
	// Output: Team name changed: "Web" to "Shop"
}
