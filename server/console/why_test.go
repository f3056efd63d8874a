package console_test

import (
	"net/url"
	"testing"
)

func TestWhy(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/why").want(200, "Why").checkPage()
	all := s.get("/projects/1/why?person=user-001").want(200, "checkout-button", "new-dashboard", "The flag is disabled.")
	all.checkPage()
	one := s.get("/projects/1/why?person=user-001&flag=new-dashboard").want(200, "new-dashboard is on for user-001", "Condition 1 decides", "plan person", "is pro, team", "match", "Condition 2 not looked at")
	one.checkPage()
	s.get("/projects/1/why?person=user-000&flag=new-dashboard").want(200, "no match", `"user-000" is drawn at`, "the share of 50 %.")
	s.get("/projects/1/why?person=user-000&flag=checkout-button").want(200, "Everybody is in the share of 100 %.", "The variant is drawn at").checkPage()
	s.get("/projects/1/why?person=user-00&flag=new-dashboard").want(200, "Nothing is stored about user-00 . Did you mean", "user-009").checkPage()
	s.get("/projects/1/why?flag=new-dashboard&properties="+url.QueryEscape(`{"plan":"team"}`)).want(200, "new-dashboard is on", "team")
	s.get("/projects/1/why?person=user-001&flag=company-billing&groups="+url.QueryEscape(`{"company":"acme"}`)).want(200, "seats group company", "70")
	s.get("/projects/1/why?person=user-001&flag=dashboard-tour").want(200, "Flags that it depends on", "new-dashboard is true")
	s.get("/projects/1/why?person=x&flag=none").want(422, "Not found.").checkPage()
	s.get("/projects/1/why?person=x&properties="+url.QueryEscape(`{"plan":}`)).want(422, "line 1, character 9").checkPage()
	s.get("/projects/1/why?person=x&groups=[]").want(422, "It has to be an object").checkPage()
	s.get("/projects/1/why?person=x&properties="+url.QueryEscape(`{"a":1}`)).want(422, "Choose a flag").checkPage()
}
