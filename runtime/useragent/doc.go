// Package useragent reads browser, operating system and device from a
// User-Agent header, for the properties $browser, $browser_version, $os,
// $os_version and $device_type of events and persons:
//
//	a := useragent.Parse(r.UserAgent())
//	properties["$browser"] = a.Browser
//
// Names are the names that the browser SDK reports for the same browser ("Microsoft
// Edge", "Mobile Safari", "Mac OS X"), so that conditions on these properties match
// whichever side has set them. Agents that name no browser or device, such as the
// agents of server SDKs and of tools, give the zero [Agent].
//
// A User-Agent is what the sender says it is: nothing here is fit for a
// decision about access. What kind of runtime a request comes from is another
// question, with rules of its own: package runtime.
//
// All functions are safe for concurrent use.
package useragent
