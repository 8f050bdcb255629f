/// What is done to the service while it is under load.
protocol Course: AnyObject {
    /// Does it.
    func run() throws
    /// Reports something that went wrong besides the contract, such as a service that never answered again.
    func report(problem: String)
    /// All that was reported.
    var problems: [String] { get }
    /// How long things took, in lines.
    var summary: [String] { get }
}

/// What a course works with.
struct TestBed {
    let plan: Plan
    let fleet: Fleet
    let watch: AnswerWatch
    let load: Load
    /// The proxy between instances and brokers, where requests are held back.
    let network: NetworkProxy?
    /// Stops and starts brokers, where there is a command for that.
    let brokers: BrokerTrouble?
}
