import CoreMetrics
import Foundation
import Synchronization

/// Metrics of this process, named as in Prometheus' own client libraries.
///
/// Memory, open files and threads are available on Linux only.
public final class ProcessMetrics: Sendable {
    private let cpu: FloatingPointCounter
    private let startTime: Meter
    private let residentMemory: Meter
    private let virtualMemory: Meter
    private let openFiles: Meter
    private let maximumFiles: Meter
    private let threads: Meter
    /// The processor time counted so far, in seconds.
    private let countedTime = Mutex(0.0)

    /// The help texts of these metrics.
    public static let descriptions: [PrometheusRegistry.Description] = [
        .init("process_cpu_seconds_total", help: "Processor time of this process, in seconds."),
        .init("process_start_time_seconds", help: "When this process started, in seconds since 1970."),
        .init("process_resident_memory_bytes", help: "Memory of this process that is in RAM, in bytes."),
        .init("process_virtual_memory_bytes", help: "Address space of this process, in bytes."),
        .init("process_open_fds", help: "Open file descriptors."),
        .init("process_max_fds", help: "File descriptors that may be open at once."),
        .init("process_threads", help: "Threads of this process."),
    ]

    /// Creates the metrics. They have no values before ``update()``.
    public init(factory: any MetricsFactory) {
        cpu = FloatingPointCounter(label: "process_cpu_seconds_total", factory: factory)
        startTime = Meter(label: "process_start_time_seconds", factory: factory)
        residentMemory = Meter(label: "process_resident_memory_bytes", factory: factory)
        virtualMemory = Meter(label: "process_virtual_memory_bytes", factory: factory)
        openFiles = Meter(label: "process_open_fds", factory: factory)
        maximumFiles = Meter(label: "process_max_fds", factory: factory)
        threads = Meter(label: "process_threads", factory: factory)
        startTime.set(Self.startTime ?? Date().timeIntervalSince1970)
    }

    /// Updates the values from the operating system.
    public func update() {
        var usage = rusage()
        if Self.usage(&usage) == 0 {
            let seconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
            countedTime.withLock { counted in
                cpu.increment(by: max(0, seconds - counted))
                counted = max(counted, seconds)
            }
        }
        var limit = rlimit()
        if Self.openFilesLimit(&limit) == 0 { maximumFiles.set(Double(limit.rlim_cur)) }
        #if os(Linux)
            if let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
                openFiles.set(Double(files.count))
            }
            let fields = Self.statFields
            if fields.count > 21 {
                threads.set(Double(fields[17]) ?? 0)
                virtualMemory.set(Double(fields[20]) ?? 0)
                residentMemory.set((Double(fields[21]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE))))
            }
        #endif
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000
    }

    private static func usage(_ usage: inout rusage) -> Int32 {
        #if os(Linux)
            getrusage(RUSAGE_SELF.rawValue, &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
    }

    private static func openFilesLimit(_ limit: inout rlimit) -> Int32 {
        #if os(Linux)
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            getrlimit(RLIMIT_NOFILE, &limit)
        #endif
    }

    private static var startTime: Double? {
        #if os(Linux)
            // The start time is in clock ticks since boot; /proc/stat has the boot time.
            guard
                let boot = try? String(contentsOfFile: "/proc/stat", encoding: .utf8).split(separator: "\n").first(where: {
                    $0.hasPrefix("btime ")
                })?.dropFirst(6), let booted = Double(boot), statFields.count > 19, let ticks = Double(statFields[19])
            else { return nil }
            return booted + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
        #else
            return nil
        #endif
    }

    /// The fields of /proc/self/stat from field 3 on, after the process' name, which may contain any characters: see proc(5).
    private static var statFields: [Substring] {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8), let nameEnd = stat.lastIndex(of: ")")
        else { return [] }
        return stat[stat.index(after: nameEnd)...].split(separator: " ")
    }
}
