// Package policyfile reads the policy file: which limits there are, what plans change in them, what each route costs
// and who is exempt.
//
//	limits.yaml --Parse--> Limits (immutable) --Live--> one request asks Current() and sees one file
//	                |                            ^
//	                +-- Faults, all at once      +-- Watch: SIGHUP or a change of the file; a bad one is refused
//
// Open limits.yaml first: it is the default, built into the program, and explains its own format. Numbers live there
// and nowhere else, except that ratelimit.DefaultPolicies repeats them for those who know no files; a test holds the
// two together.
//
// The names of policies are those of the stages of the API. A file changes their numbers, not their number: a policy
// that no stage asks, or a stage without its policy, is a fault.
package policyfile
