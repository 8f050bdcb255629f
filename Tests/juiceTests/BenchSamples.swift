@testable import juice

/// Settings for tests of the commands that are given them.
enum BenchSamples {
    static func settings(_ values: [Setting: String] = [:]) throws -> Settings {
        try Settings(flags: values, file: nil, environment: [:])
    }
}
