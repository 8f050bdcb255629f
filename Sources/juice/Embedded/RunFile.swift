/// What a process with an embedded broker leaves where this user's other commands find it.
struct RunFile: Sendable, Equatable, Codable {
    /// The process that runs the broker.
    let processID: Int32
    /// Where it listens.
    let bootstrapServers: String
}
