import CoreMetrics
import Foundation
import Synchronization

/// Metrics of this process, named as in Prometheus' own client libraries.
///
/// Memory, open files and threads are available on Linux only.
package final class ProcessMetrics: Sendable {
    package static let descriptions: [PrometheusRegistry.Description] = [
        .init("process_cpu_seconds_total", help: "Processor time of this process, in seconds."),
        .init("process_start_time_seconds", help: "When this process started, in seconds since 1970."),
        .init("process_resident_memory_bytes", help: "Memory of this process that is in RAM, in bytes."),
        .init("process_virtual_memory_bytes", help: "Address space of this process, in bytes."),
        .init("process_open_fds", help: "Open file descriptors."),
        .init("process_max_fds", help: "File descriptors that may be open at once."),
        .init("process_threads", help: "Threads of this process."),
    ]

    private let factory: any MetricsFactory
    private let cpu: FloatingPointCounter
    /// The processor time counted so far, in seconds.
    private let countedTime = Mutex(0.0)

    /// The metrics before the first ``update()``; the process counts as started now.
    package init(factory: any MetricsFactory) {
        self.factory = factory
        cpu = FloatingPointCounter(label: "process_cpu_seconds_total", factory: factory)
        set("process_start_time_seconds", Date().timeIntervalSince1970)
    }

    /// Updates the values from the operating system.
    package func update() {
        countedTime.withLock { counted in
            var time = timespec()
            guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return }
            let seconds = Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
            cpu.increment(by: seconds - counted)
            counted = seconds
        }
        set("process_max_fds", OpenFileLimit.current.map { Double($0.rlim_cur) })
        #if os(Linux)
            set(
                "process_open_fds", (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { Double($0.count) }
            )
            let fields = Self.statFields
            guard fields.count > 21 else { return }
            set("process_threads", Double(fields[17]))
            set("process_virtual_memory_bytes", Double(fields[20]))
            set("process_resident_memory_bytes", Double(fields[21]).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) })
        #endif
    }

    private func set(_ name: String, _ value: Double?) {
        if let value { Meter(label: name, factory: factory).set(value) }
    }

    /// The fields of /proc/self/stat from field 3 on, after the process' name, which may contain any characters: see proc(5).
    private static var statFields: [Substring] {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8), let nameEnd = stat.lastIndex(of: ")")
        else { return [] }
        return stat[stat.index(after: nameEnd)...].split(separator: " ")
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
