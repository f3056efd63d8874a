package surveys_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func Example() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	created, err := management.Bootstrap(ctx, store, management.First{Owner: "ada@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	accounts, err := management.New(management.Config{Store: store, FlagUsers: surveys.FlagUsers{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	service, err := surveys.New(surveys.Config{Management: accounts})
	if err != nil {
		fmt.Println(err)
		return
	}
	ada, err := accounts.Authenticate(ctx, created.PersonalKey, "the Authorization header")
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := service.Create(ctx, ada, "@current", surveys.Patch{
		Name: optional.Of("NPS"), Type: optional.Of("popover"),
		Questions: optional.Of(json.RawMessage(`[{"id":"q1","type":"rating","question":"Happy?","display":"number","scale":10}]`)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err = service.Launch(ctx, ada, "@current", view.ID.String())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(view.Name, view.StartDate != nil, view.InternalTargetingFlag.Active)
	// Output: NPS true true
}

func ExampleEvents() {
	events := surveys.Events(responses())
	for _, e := range events {
		fmt.Println(e.Kind == surveys.Sent, string(e.Answers["q1"]))
	}
	// Output: true 9
}

// responses returns a captured event with an answer.
func responses() []capture.Event {
	return []capture.Event{{
		Project: 1, UUID: uuid.New(), Name: "survey sent", DistinctID: "user-1",
		Properties: json.RawMessage(`{"$survey_id":"019c0a11-2f30-7000-8c4e-1a2b3c4d5e6f","$survey_response_q1":9}`),
	}}
}
