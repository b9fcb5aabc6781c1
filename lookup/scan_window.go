package lookup

// Window finds the last windowBlocks consecutive blocks of keys that are there,
// and answers with the index at which they end. It asks from the last key back.
// Hit and Pending count; Retry and Miss break what was counted. Where no window is
// complete, the answer is the length of the run that reaches index 0: a window
// need not be full where the prompt begins.
//
// The answer is to wait if any block asked for was Retry, or if one of the chosen
// blocks is Pending. What a Miss breaks is no longer waited for. There is no gate:
// giving up the last blocks of a window gives up all of it.
//
// A nil src misses everything. windowBlocks of zero or less finds nothing and asks
// for nothing.
func Window(src Source, keys []Key, windowBlocks int) Found {
	a := newAsker(src, nil)
	f := scanWindow(&a, span{keys: keys}, windowBlocks)
	f.Asked = a.asked
	return f
}

func scanWindow(a *asker, s span, windowBlocks int) Found {
	if windowBlocks <= 0 {
		return Found{Reason: ReasonNotStored}
	}
	run, retry, pending := 0, false, false
	end := 0
	for i := len(s.keys) - 1; i >= 0; i-- {
		switch a.one(s.at(i), &s.keys[i]) {
		case Hit:
			run++
		case Pending:
			run++
			pending = true
		case Retry:
			run, retry = 0, true
		default:
			// The pending mark belongs to the run that ends here.
			run, pending = 0, false
		}
		if end = i + run; run == windowBlocks {
			break
		}
	}
	switch {
	case retry:
		return Found{Wait: true, Reason: ReasonRetry}
	case pending:
		return Found{Wait: true, Reason: ReasonPending}
	}
	return ready(end)
}
