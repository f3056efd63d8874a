// Package api is a client of a server's management API, for the commands of the
// program. Its errors say in one line what the server has said, and never have the key.
//
//	client, err := api.New(api.Config{URL: "https://flags.example.com", Key: key})
//	var flag struct{ Key string }
//	err = client.Get(ctx, client.InProject("feature_flags", "new-checkout"), &flag)
//	for flag, err := range api.List[Flag](ctx, client, client.InProject("feature_flags"), nil) { … }
package api
