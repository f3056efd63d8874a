package memstore_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/memstore"
)

func ExampleStore() {
	ctx := context.Background()
	var store memstore.Store
	err := store.Write(ctx, []capture.Event{{
		Project: 1, Name: "upgraded", DistinctID: "ann", Properties: json.RawMessage(`{"$set":{"plan":"pro"}}`),
	}})
	if err != nil {
		panic(err)
	}
	properties, err := store.AppendPerson(ctx, nil, 1, "ann")
	fmt.Println(string(properties), err)
	// Output: {"plan":"pro"} <nil>
}
