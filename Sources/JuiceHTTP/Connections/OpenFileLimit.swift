import Foundation

/// How many files and connections this process may have open at once.
enum OpenFileLimit {
    /// The limit, raised as far as the system lets this process. It starts with 1,024 almost everywhere, for the sake of programs
    /// that use select(2).
    static let raised = raise()

    private static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return Int(_POSIX_OPEN_MAX) }
        #if os(macOS)
            // Told to be endless there, and refused when it is set to that.
            let highest = min(limit.rlim_max, rlim_t(OPEN_MAX))
        #else
            let highest = limit.rlim_max
        #endif
        if limit.rlim_cur < highest {
            var raised = limit
            raised.rlim_cur = highest
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    #if os(Linux)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
}
