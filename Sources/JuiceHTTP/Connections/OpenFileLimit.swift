import Foundation

/// The limit of file descriptors of this process.
enum OpenFileLimit {
    /// The soft limit, raised to the hard limit. Most systems start processes with 1,024, for programs that use select(2).
    static let raised = raise()

    private static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return Int(_POSIX_OPEN_MAX) }
        #if os(macOS)
            // macOS reports an infinite hard limit, but does not accept it as the soft limit.
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
