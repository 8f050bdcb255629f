import Foundation

/// Metrics of this process in Prometheus' text format, named as in Prometheus' own client libraries.
///
/// Memory, open files and threads are available on Linux only.
enum ProcessMetrics {
    /// The present values.
    ///
    /// - Parameter startedAt: when the process started, in seconds since 1970.
    static func text(startedAt: Double) -> String {
        var text = ""
        func add(_ name: String, _ help: String, _ value: Double?, kind: String = "gauge") {
            guard let value else { return }
            text += TextFormat.head(of: name, kind, help: help) + TextFormat.sample(name, "", value)
        }
        var cpu = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu)
        add(
            "process_cpu_seconds_total", "Processor time of this process, in seconds.",
            Double(cpu.tv_sec) + Double(cpu.tv_nsec) / 1_000_000_000, kind: "counter")
        add("process_start_time_seconds", "When this process started, in seconds since 1970.", startedAt)
        add("process_max_fds", "File descriptors that may be open at once.", OpenFileLimit.current.map { Double($0.rlim_cur) })
        #if os(Linux)
            let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            add("process_open_fds", "Open file descriptors.", files.map(Double.init))
            // See proc(5). After the process' name, which may contain any characters, comes field 3.
            guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8) else { return text }
            let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst().map { Double($0) }
            guard fields.count > 21 else { return text }
            add("process_threads", "Threads of this process.", fields[17])
            add("process_virtual_memory_bytes", "Address space of this process, in bytes.", fields[20])
            let pageSize = Double(sysconf(Int32(_SC_PAGESIZE)))
            add(
                "process_resident_memory_bytes", "Memory of this process that is in RAM, in bytes.",
                fields[21].map { $0 * pageSize })
        #endif
        return text
    }
}

/// The limit of file descriptors of this process.
package enum OpenFileLimit {
    /// The soft limit, raised to the hard limit. Most systems start processes with 1,024, for programs that use select(2).
    package static let raised: Int = {
        guard var limit = current else { return Int(_POSIX_OPEN_MAX) }
        #if os(macOS)
            // macOS reports an infinite hard limit, but does not accept it as the soft limit.
            let highest = min(limit.rlim_max, rlim_t(OPEN_MAX))
        #else
            let highest = limit.rlim_max
        #endif
        if limit.rlim_cur < highest {
            limit.rlim_cur = highest
            setrlimit(resource, &limit)
        }
        return Int(clamping: (current ?? limit).rlim_cur)
    }()

    /// Nil if the system does not say.
    static var current: rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }

    #if os(Linux)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
}
