import ArgumentParser
import JuiceMessages

/// `juice cancel`: takes an order back.
struct Cancel: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Cancel an order.",
        discussion: """
            Sends the cancel and confirms that a broker has stored it; with --wait it also prints the answer. The fruits of \
            an order that was made go back into stock. An order that was not made, or that the store does not know yet, \
            returns nothing, and will not be made if it comes again.

            Exit status: 0 cancelled (or sent), 3 rejected, 69 no broker or no answer.

            Examples:
              juice cancel pos-7-000123 --wait
              juice cancel pos-7-000123 --store gangnam --wait --json
            """
    )

    @Argument(help: ArgumentHelp("The id of the order.", valueName: "order-id"))
    var orderID: String

    @OptionGroup var options: SubmissionOptions

    func validate() throws {
        guard (1...CommandKind.maximumIDLength).contains(orderID.utf8.count) else {
            throw ValidationError("an order's id is 1 to \(CommandKind.maximumIDLength) bytes long")
        }
    }

    func run() throws {
        let settings = try Settings(self)
        let store = try settings.store() ?? StoreID.main
        try Submission(settings).run(.cancel(id: orderID, store: store))
    }
}
